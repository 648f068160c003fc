# Generated headers: policy levels as text, seccomp profiles as BPF and JSON.

gen-headers := $(B)/gen/levels.h $(B)/gen/profiles.h $(B)/gen/mcp_tools.h

$(B)/gen/levels.h: mk/embed-text.sh $(wildcard policy/levels/*.yaml)
	@mkdir -p $(@D)
	$(Q)sh mk/embed-text.sh $(wildcard policy/levels/*.yaml) >$@

# Descriptions and schemas of the MCP tools: JSON, a line a string, joined again when they are told.
$(B)/gen/mcp_tools.h: launcher/mcp_tools.json
	@mkdir -p $(@D)
	$(Q){ echo 'static const char *const tool_lines[] = {' && \
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/\t"&",/' $< && echo '};'; } >$@

# The generator runs at build time, on this machine, with libseccomp; the launcher does not need it.
$(B)/gen-seccomp: confine/gen/gen-seccomp.c confine/gen/rules.h confine/syscalls.def
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(lang) $(warn-common) -O1 -g -o $@ $< -lseccomp

$(B)/gen/profiles.h: $(B)/gen-seccomp
	@mkdir -p $(@D)
	$(B)/gen-seccomp >$@
