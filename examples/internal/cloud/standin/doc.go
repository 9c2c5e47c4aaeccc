// Package standin writes code that stands in for what an app names and what is not available: Terraform
// modules, charts, kustomizations and scripts of repositories that are elsewhere, or of which only
// placeholders were published.
//
// It makes the code from how the app uses it: the variables that the app sets become the module's
// variables, and the outputs that others read become its outputs. A stand-in creates something, so that
// it is planned, applied, updated and destroyed like any code: a module an object in the app's
// cloud, a chart and a kustomization a Deployment. It never replaces a file that has content.
package standin
