// Package helm builds, plans and applies components of kind helm_chart.
//
// It owns how a component's settings become a release (namespace, storage driver,
// values with their types), the content of a chart's plan bundle (the rendered
// templates byte for byte, and what the plan was made from), the report of a release,
// when a plan is worth applying, and the outputs of a release.
//
// It never calls the Helm SDK or a cluster directly: packages helm and cluster do. It never
// decides whether a plan may be applied: its Kind implements the steps that package deploy calls.
package helm
