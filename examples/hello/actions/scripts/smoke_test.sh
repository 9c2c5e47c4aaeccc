#!/bin/sh
# Values come in as environment variables, never as text of the script: so no
# input can become a command.
set -eu

echo "the page says: $PAGE"
case "$PAGE" in
"$GREETING"*) ;;
*)
	echo "the page should begin with: $GREETING" >&2
	exit 1
	;;
esac

echo '{"healthy": true}' >>"$NUON_ACTIONS_OUTPUT_FILEPATH"
