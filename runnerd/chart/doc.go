// Package chart builds, plans and applies components of kind helm_chart.
//
// It owns what of a component's settings becomes a release (namespace, storage driver, values with
// their types), what the plan bundle of a chart holds (the rendered templates byte for byte, and
// what the plan was made from), the report of a release, when a plan is worth applying, and the
// outputs of a release.
//
// It never talks to the Helm SDK or to a cluster by itself: that is the business of the packages
// helm and cluster. It never decides whether a plan may be applied: its Kind does the steps that
// package deploy asks for.
package chart
