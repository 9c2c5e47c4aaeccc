package control

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RenderTexts implements GET /v1/installs/{install}/rendered. It reads the values in a transaction
// and renders after it.
func (s *Server) RenderTexts(ctx context.Context, r RenderTextsRequestObject) (RenderTextsResponseObject, error) {
	if (r.Params.Component == "") == (r.Params.Action == "") {
		return nil, problem.New(http.StatusBadRequest, "bad_request", "exactly one of component and action must be set",
			"Send ?component=NAME or ?action=NAME.")
	}
	var display *rollout.Display
	var install store.Install
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if install, _, err = findInstall(ctx, tx, r.Install); err == nil {
			display, err = rollout.LoadDisplay(ctx, tx, install)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	templates, err := templatesOf(install, display, r.Params)
	if err != nil {
		return nil, err
	}
	shown, err := displayed(ctx, display, templates)
	return RenderTexts200JSONResponse{
		Install: install.Name, Component: r.Params.Component, Action: r.Params.Action, Release: display.Release(),
		Texts: each(shown, func(t rollout.RenderedText) api.RenderedText {
			return api.RenderedText{
				Key: t.Key, Text: t.Text, Sensitive: t.Sensitive, Waits: t.WaitsFor, Problem: t.Problem,
			}
		}),
	}, err
}

// longestRender bounds the rendering of all texts of one response. A real app's texts take
// milliseconds; each text also has a separate limit.
const longestRender = 5 * time.Second

func displayed(ctx context.Context, display *rollout.Display, templates map[string]string) ([]rollout.RenderedText,
	error) {
	within, done := context.WithTimeout(ctx, longestRender)
	defer done()
	shown, err := display.Render(within, templates)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = problem.New(http.StatusUnprocessableEntity, "too_much_work", "these texts take too long to render",
			"Request one of them by its key.")
	}
	return shown, err
}

// templatesOf returns the requested texts, by key.
func templatesOf(install store.Install, display *rollout.Display, p api.RenderTextsParams) (map[string]string, error) {
	config := display.Config()
	if config == nil {
		config = &appconfig.App{}
	}
	templates, ok := display.Templates(p.Component)
	if a, is := config.Action(p.Action); !ok && is {
		templates = a.Templates()
	} else if !ok {
		what := "component " + quoted(p.Component)
		if p.Action != "" {
			what = "action " + quoted(p.Action)
		}
		return nil, problem.New(http.StatusNotFound, "not_found",
			"the app version of install "+install.Name+" has no "+what,
			"`nuon validate` lists those that the app's files have.")
	}
	asked := map[string]string{}
	for key, text := range templates {
		if rest, below := strings.CutPrefix(key, p.Key); below &&
			(p.Key == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
			asked[key] = text
		}
	}
	if len(asked) == 0 && p.Key != "" {
		return nil, problem.New(http.StatusNotFound, "not_found", "no text has the key "+quoted(p.Key),
			"Omit the key to list all texts.")
	}
	return asked, nil
}
