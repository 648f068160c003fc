# One command on a fresh machine: installs what the build needs, builds, and shows a real run.
.PHONY: demo
demo:
	sh mk/deps.sh build
	$(MAKE) all
	sh examples/demo.sh
