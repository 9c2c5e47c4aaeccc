package apiclient

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// sameGeneration returns an error if a response is from another API generation than
// that of this nuon. A response without a generation passes; its content decides. A
// control plane that refuses this nuon's generation still sends its own.
func sameGeneration(r *http.Response) error {
	theirs, err := strconv.Atoi(r.Header.Get(version.HeaderAPI))
	if err != nil || theirs == version.API {
		return nil //nolint:nilerr // it says nothing that can be read
	}
	us := fmt.Sprintf("this nuon (version %s, API generation %d)", version.Number, version.API)
	them := fmt.Sprintf("the control plane (version %s, API generation %d)",
		cmp.Or(r.Header.Get(version.HeaderNumber), "unknown"), theirs)
	if theirs > version.API {
		return exitcode.With(exitcode.Unreachable, fmt.Errorf("%s is too old for %s: update nuon", us, them))
	}
	return exitcode.With(exitcode.Unreachable,
		fmt.Errorf("%s is too old for %s: update the control plane, or use the nuon of its version", them, us))
}
