#!/bin/sh
# What a pipeline does with an app, for any CI that runs a shell.
#
#   nuon.sh check [FILE]   on a pull request: the config is right, and what would a merge cause? FILE gets a comment for it.
#   nuon.sh ship           on the branch: wait until every install that follows has the commit
#
# It needs nuon on the PATH and, in the environment:
#
#   NUON_URL      address of the control plane
#   NUON_TOKEN    made by `nuon tokens create pipeline --role ci --app APP --expires 24h`
#   APP           name of the app
#   DIRECTORY     of its config in the work tree, for check; default .
#   TIMEOUT       of ship; default 30m
#   WAITING       pass: a plan that waits for a person does not fail the pipeline; default fail
#
# It ends with the exit code of nuon: 0 done, 1 a build or deploy failed, 2 errors in the config, 3 waiting for an approval,
# 4 rejected, 5 control plane unreachable or access denied.
set -eu

: "${NUON_URL:?set it to the address of the control plane}"
: "${NUON_TOKEN:?set it to a token of the role ci}"
: "${APP:?set it to the name of the app}"
directory=${DIRECTORY:-.}

check() {
	nuon validate "$directory"
	nuon sync "$directory" --app "$APP" --dry-run --markdown >"${1:-/dev/stdout}"
}

ship() {
	code=0
	nuon sync --app "$APP" --wait --timeout "${TIMEOUT:-30m}" || code=$?
	if [ "$code" -eq 3 ] && [ "${WAITING:-fail}" = pass ]; then
		code=0
	fi
	return "$code"
}

case ${1:-} in
check | ship) "$@" ;;
*)
	echo "usage: nuon.sh check [FILE] | ship" >&2
	exit 2
	;;
esac
