package helmsdk

import (
	"bytes"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// freeze returns a chart that renders to exactly the given templates, with any values
// and on any cluster. It is flat: a path through subcharts is only a longer name, so
// no condition, tag or schema of a dependency applies.
func freeze(info ChartInfo, templates []File) *chart.Chart {
	made := &chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: info.Name, Version: info.Version,
		AppVersion: info.AppVersion}}
	for _, f := range templates {
		made.Templates = append(made.Templates, &chart.File{Name: strings.TrimPrefix(f.Path, info.Name+"/"),
			Data: literal(f.Content)})
	}
	return made
}

// literal converts bytes to a template that renders to them: every opening of an
// action becomes an action that prints it.
func literal(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("{{"), []byte(`{{"{{"}}`))
}
