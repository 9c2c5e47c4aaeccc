package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/distribution/distribution/v3/registry/auth"
)

// controllerName is the name under which the handlers find nuon's access controller.
const controllerName = "nuon"

// The handlers find an access controller by its name in a process-wide table, which is not safe for
// concurrent use, so it is registered before main runs.
var errRegister = auth.Register(controllerName, newController)

// controller authorizes every request of the handlers.
type controller struct {
	signer Signer
	now    func() time.Time
}

func newController(options map[string]any) (auth.AccessController, error) {
	signer, known := options["signer"].(Signer)
	if !known {
		return nil, errors.New("the registry needs a signer")
	}
	now, known := options["now"].(func() time.Time)
	if !known {
		return nil, errors.New("the registry needs a clock")
	}
	return controller{signer: signer, now: now}, nil
}

// Authorized accepts a request if its token is valid and allows every access that the handlers
// require. For a valid token without that access it notes the denial, which the response turns
// into a 403: a retry with the same token is useless.
func (c controller) Authorized(request *http.Request, wanted ...auth.Access) (*auth.Grant, error) {
	token, given := tokenOf(request)
	if !given {
		return nil, challenge{errors.New("the request has no token")}
	}
	said, err := c.signer.verify(token, c.now())
	if err != nil {
		return nil, challenge{err}
	}
	grant := &auth.Grant{User: auth.UserInfo{Name: said.Prefix}}
	for _, access := range wanted {
		if access.Type != "repository" || !said.allows(access.Name, access.Action) {
			err := fmt.Errorf("the token allows %s below %q, not %s of %s %q", strings.Join(said.Actions, " and "),
				said.Prefix, access.Action, access.Type, access.Name)
			noteDenied(request.Context(), err)
			return nil, challenge{err}
		}
		grant.Resources = append(grant.Resources, access.Resource)
	}
	return grant, nil
}

// tokenOf returns the token: the password of HTTP Basic, or a bearer token.
func tokenOf(request *http.Request) (string, bool) {
	if _, password, basic := request.BasicAuth(); basic {
		return password, true
	}
	scheme, token, found := strings.Cut(request.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), found && strings.EqualFold(scheme, "Bearer")
}

// challenge is the answer to a request without a valid token.
type challenge struct{ why error }

// Error returns the reason.
func (c challenge) Error() string { return c.why.Error() }

// SetHeaders requests HTTP Basic, which every OCI client supports without a separate token service.
func (challenge) SetHeaders(_ *http.Request, w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="nuon registry"`)
}

type deniedKey struct{}

// noteDenied stores the reason for the response writer of this request.
func noteDenied(ctx context.Context, why error) {
	if response, ok := ctx.Value(deniedKey{}).(*response); ok {
		response.denied = why
	}
}
