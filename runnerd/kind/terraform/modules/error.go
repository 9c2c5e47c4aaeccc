package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// CallError reports a module call that cannot be resolved.
type CallError struct {
	// Key is the path of the call, such as "eks.kms".
	Key string
	// Position is the position of the module block: in the repository, or in the package of Caller.
	Position tfmodule.Position
	// Caller is the key of the module whose package has the block; empty for the repository.
	Caller string
	// Name and Source are those of the block.
	Name, Source string
	// Err states the cause and the remedy.
	Err error
}

// Error returns "FILE:LINE: module "NAME" (SOURCE): cause; remedy".
func (e *CallError) Error() string {
	within := ""
	if e.Caller != "" {
		within = " of module " + e.Caller
	}
	return fmt.Sprintf("%s%s: module %s (%s): %v", e.Position, within, diagnostic.Quote(e.Name), showSource(e.Source),
		e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// ChangedError reports that the content of a recorded version is not what it was.
type ChangedError struct {
	// Version is the recorded version or commit.
	Version string
	// Recorded and Received are content digests.
	Recorded, Received string
}

// Error names both digests.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the content of %s changed: %s was recorded, %s was received; "+
		"ask the owner of the module why, and run \"nuon builds refresh\" to accept it",
		e.Version, e.Recorded, e.Received)
}

// IsTemporary reports whether the cause of an error may pass, such as a server that does not answer.
func IsTemporary(err error) bool {
	var found *problem
	return errors.As(err, &found) && found.Temporary
}

// problem is a cause with its remedy.
type problem struct{ netguard.Problem }

// Error returns "why; remedy".
func (p *problem) Error() string { return p.Why + "; " + p.Remedy }

func problemf(remedy, format string, args ...any) error {
	return &problem{netguard.Problem{Why: fmt.Sprintf(format, args...), Remedy: remedy}}
}

// errTooSlow is the cause of the end of a run's context.
var errTooSlow = errors.New("too slow")

// describe converts an error of a request to a problem. what names the server or repository, such
// as "registry example.com".
func (r *run) describe(ctx context.Context, what string, err error) error {
	var known *problem
	var blocked *netguard.BlockedError
	var disk *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errTooSlow):
		return &problem{netguard.Problem{Why: fmt.Sprintf("%s: all modules together took longer than %s", what,
			r.limits.Time),
			Remedy: "build again later", Temporary: true}}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known), errors.As(err, &disk):
		return fmt.Errorf("%s: %w", what, err)
	case errors.As(err, &blocked):
		return problemf(blockedRemedy(blocked), "%s: its server %s", what, oneLine(blocked.Error()))
	}
	found, is := netguard.Describe(err)
	if !is {
		found = netguard.Problem{Why: "the answer cannot be used: " + withoutURL(err), Remedy: "check the address"}
	}
	found.Why = what + ": " + found.Why
	return &problem{found}
}

func blockedRemedy(blocked *netguard.BlockedError) string {
	switch {
	case blocked.Kind == netguard.Special:
		return "name another server, modules are never read from there"
	case blocked.Scheme == "http":
		return "write https://"
	}
	return "use a module on the internet, or have the operator of the build runner allow this host"
}

// withoutURL returns the text of an error unless it has a URL in it, which may hold a credential.
func withoutURL(err error) string {
	text := oneLine(err.Error())
	if strings.Contains(text, "://") {
		return "unexpected content"
	}
	return text
}

// oneLine returns untrusted text on one line of bounded length, without control characters.
func oneLine(text string) string { return netguard.OneLine(text) }

// showSource returns a source for messages, without what may be secret in it.
func showSource(source string) string {
	body, query, _ := strings.Cut(source, "?")
	if scheme, rest, is := strings.Cut(body, "://"); is {
		host, path, slash := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 && (!strings.Contains(scheme, "ssh") ||
			strings.Contains(host[:at], ":")) {
			host = host[at+1:]
		}
		if body = scheme + "://" + host; slash {
			body += "/" + path
		}
	}
	var shown []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); plainKeys[name] {
			shown = append(shown, part)
		}
	}
	if len(shown) > 0 {
		body += "?" + strings.Join(shown, "&")
	}
	return oneLine(body)
}

// plainKeys are the query keys of a source whose values are no secrets.
var plainKeys = map[string]bool{"ref": true, "depth": true, "archive": true, "checksum": true, "version": true}
