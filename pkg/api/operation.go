package api

import (
	"slices"
	"strings"
	"time"
)

// Operation is an operation of the control API or the runner API, with the time that its response
// may take, as openapi.yaml declares it. The servers take their deadlines from it, and the clients
// their timeouts.
type Operation struct {
	ID     string // the operationId
	Method string
	Path   string // with its parameters in braces

	// Streams means that the response may be a stream of server-sent events (text/event-stream),
	// which ends only when there is nothing more to follow.
	Streams bool
	// Hold is how long the server may wait until there is something to answer (x-hold-seconds).
	Hold time.Duration
}

// responseTime is how long a server takes at most for a response that it neither streams nor holds.
const responseTime = time.Minute

// ResponseTime returns how long the server takes at most until it has answered, or until the
// stream starts.
func (o Operation) ResponseTime() time.Duration { return responseTime + o.Hold }

// Operations returns all operations, ordered by id.
func Operations() []Operation { return slices.Clone(operations) }

// FindOperation returns the operation with an id. The case of letters does not matter, because
// generated code spells the ids as Go names.
func FindOperation(id string) (Operation, bool) {
	for _, o := range operations {
		if strings.EqualFold(o.ID, id) {
			return o, true
		}
	}
	return Operation{}, false
}

// OperationOf returns the operation that a request is for. The path may have a prefix, as behind a
// proxy that serves several programs.
func OperationOf(method, path string) (Operation, bool) {
	segments := strings.Split(path, "/")
	var found Operation
	for _, o := range operations {
		// Of /v1/apps/{app} and a longer path with the same end, the longer one is more specific.
		if o.Method == method && matches(o.Path, segments) && len(o.Path) > len(found.Path) {
			found = o
		}
	}
	return found, found.ID != ""
}

// matches reports whether the last segments of a path match a template.
func matches(template string, segments []string) bool {
	parts := strings.Split(strings.TrimPrefix(template, "/"), "/")
	if len(parts) > len(segments) {
		return false
	}
	segments = segments[len(segments)-len(parts):]
	for i, part := range parts {
		if part != segments[i] && (!strings.HasPrefix(part, "{") || segments[i] == "") {
			return false
		}
	}
	return true
}
