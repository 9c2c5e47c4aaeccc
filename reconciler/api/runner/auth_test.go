package runner

import (
	"net/http"
	"testing"
)

// patterns collects the routes that the generated server mounts.
type patterns struct {
	*http.ServeMux
	all map[string]bool
}

func (p patterns) HandleFunc(pattern string, _ func(http.ResponseWriter, *http.Request)) {
	p.all[pattern] = true
}

func TestTheDoorKnowsEveryRouteAndNoOther(t *testing.T) {
	mounted := patterns{http.NewServeMux(), map[string]bool{}}
	HandlerFromMux(NewStrictHandler(handlers{}, nil), mounted)
	for pattern := range mounted.all {
		if route, known := routes[pattern]; !known || route.by == 0 || route.body == 0 || route.time == 0 {
			t.Errorf("%s has no authorization rule", pattern)
		}
	}
	for pattern := range routes {
		if !mounted.all[pattern] {
			t.Errorf("the authorizer has rules for %s, which is no route", pattern)
		}
	}
}
