// Package diff says what would change, as data: a Report.
//
// It owns the Report and the way in to it. What a plan or a manifest holds is a Raw, which can be walked and compared but never
// read, printed, logged or marshalled. What a Report holds is Shown. The only door from the one to the other is a Masker, so a
// report is masked by construction.
//
// The folders beside this file turn one kind of plan into a Report (terraform) or render one for people (terminal, markdown). The
// JSON rendering of a Report is the Report itself.
//
// It never reads files, runs programs or talks to a network. The runner makes reports where the secrets are, the control plane
// stores and compares them by digest, and the command line shows them.
package diff
