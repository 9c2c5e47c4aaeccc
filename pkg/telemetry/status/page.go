package status

import (
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
	"time"
)

// Page is the content of /debug/status.
type Page struct {
	Program string    `json:"program"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Tasks   []State   `json:"tasks"`
	// Failing lists work that fails repeatedly.
	Failing []Failure `json:"failing,omitempty"`
}

// Failure is work that fails at every attempt.
type Failure struct {
	What  string    `json:"what"`
	Tries int       `json:"tries"`
	Error string    `json:"error"`
	Next  time.Time `json:"next"`
}

// Handler serves a board as HTML to browsers, and as JSON to other clients and with ?format=json.
// failing may be nil.
func (b *Board) Handler(program, version string, failing func(context.Context) ([]Failure, error)) http.Handler {
	started := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := Page{Program: program, Version: version, Started: started, Tasks: b.Tasks()}
		if failing != nil {
			var err error
			if page.Failing, err = failing(r.Context()); err != nil {
				page.Failing = []Failure{{What: "reading what fails", Error: err.Error()}}
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if strings.Contains(r.Header.Get("Accept"), "text/html") && r.URL.Query().Get("format") != "json" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
			_ = html.Execute(w, page) // the client may have disconnected
			return
		}
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(page) // see above
	})
}

var html = template.Must(template.New("status").Funcs(template.FuncMap{
	"ago": func(t time.Time) string { return time.Since(t).Round(100 * time.Millisecond).String() },
}).Parse(`<!doctype html>
<title>{{.Program}} status</title>
<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{text-align:left;padding:.3em 1em;border-bottom:1px solid #ccc}.bad{color:#a00}</style>
<h1>{{.Program}} {{.Version}}</h1>
<p>up for {{ago .Started}}</p>
<table><tr><th>goroutine<th>does<th>for<th>last error</tr>
{{range .Tasks}}<tr><td>{{.Name}}<td>{{if .Waiting}}waits {{end}}{{.What}}<td>{{ago .Since}}<td class=bad>{{if .Error}}{{.Error}} ({{ago .ErrorAt}} ago){{end}}</tr>
{{end}}</table>
{{if .Failing}}<h2 class=bad>Tried again and again</h2>
<table><tr><th>work<th>tries<th>error</tr>
{{range .Failing}}<tr><td>{{.What}}<td>{{.Tries}}<td>{{.Error}}</tr>
{{end}}</table>{{end}}
`))
