package middleware

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// spoken rejects a request of another API generation than this server's, with an error that names
// the side to update. A request without the header comes from a custom client and is accepted.
func spoken(r *http.Request) error {
	said := r.Header.Get(version.HeaderAPI)
	if said == "" {
		return nil
	}
	theirs, err := strconv.ParseUint(said, 10, 31)
	us := fmt.Sprintf("this control plane (version %s) uses generation %d of the API", version.Number, version.API)
	switch {
	case err != nil:
		return problem.New(http.StatusBadRequest, "bad_request",
			"the header "+version.HeaderAPI+" is not a generation of the API; "+us,
			"Send a whole number, or omit it.")
	case theirs < version.API:
		return problem.New(http.StatusUpgradeRequired, "client_too_old",
			fmt.Sprintf("%s, and the client the older generation %d", us, theirs),
			"Update the client (nuon or runnerd) to the control plane's version.")
	case theirs > version.API:
		return problem.New(http.StatusUpgradeRequired, "client_too_new",
			fmt.Sprintf("%s, and the client the newer generation %d", us, theirs),
			"Update the control plane, or use the client (nuon or runnerd) of its version.")
	}
	return nil
}

// refuseGeneration answers a request that spoken rejects.
func refuseGeneration(w http.ResponseWriter, r *http.Request, err error) {
	// RFC 9110, section 15.5.22, requires the header Upgrade; HTTP/2 has no such header.
	if p, _ := problem.Of(err); p.Status == http.StatusUpgradeRequired && r.ProtoMajor == 1 {
		w.Header().Set("Upgrade", "nuon-api/"+strconv.Itoa(version.API))
		w.Header().Set("Connection", "Upgrade")
	}
	problem.Write(w, err)
}
