.PHONY: install
install: all
	install -D -m 0755 $(B)/hermes-launch $(DESTDIR)$(PREFIX)/bin/hermes-launch
	install -D -m 0755 $(B)/hermes-runner $(DESTDIR)$(PREFIX)/libexec/hermes-launch/hermes-runner
	install -D -m 0755 $(B)/hl-engine $(DESTDIR)$(PREFIX)/libexec/hermes-launch/hl-engine
	install -D -m 0755 $(B)/hl-seal $(DESTDIR)$(PREFIX)/libexec/hermes-launch/hl-seal
	for page in $(man-pages); do \
		install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit; done
