// Package diff describes what a change would do, as data: a Report.
//
// It owns the Report and how one is built. The content of a plan or a manifest is a Raw, which can
// be walked and compared but never read, printed, logged or marshaled. The content of a Report is
// ShownValue. Only a Masker converts one to the other, so every report is masked by construction.
//
// The packages below this folder turn one kind of plan into a Report
// (terraform, kubernetes, app) or render one for people (terminal, markdown).
// The JSON rendering of a Report is the Report itself.
//
// It never reads files, runs programs or uses a network. The runner builds reports where the
// secrets are, the control plane stores them and compares them by digest, and the CLI shows them.
package diff
