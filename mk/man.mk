# Manual pages: templates of man/ filled from the tables.

man-pages := $(patsubst man/%.in,$(B)/man/%,$(wildcard man/*.in))

$(B)/gen-man: man/gen-man.c launcher/options.def launcher/verbs.def policy/fields.def \
		policy/records.def \
		backends/controls.def base/codes.def
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(lang) $(warn-common) -Wno-missing-prototypes -O1 -g -o $@ $<

$(B)/man/%: man/%.in $(B)/gen-man
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$(B)/gen-man <$< >$@

.PHONY: man
man: $(man-pages)
