// Package helm is the only door to the Helm SDK: charts are loaded and rendered, releases read, asked about, installed, upgraded, healed and
// uninstalled here, in types of our own, so that another version of Helm can take the place of this one without its callers noticing.
//
// It owns the promise that what is applied is, byte for byte, what was rendered for the plan: Apply hands the SDK a chart whose templates are
// the planned bytes, and compares before anything is created. It owns what happens to a release that an attempt left behind in the middle
// (Decide), and the labels on the records of releases by which attempts are told apart from other people's work.
//
// It never decides whether to plan or to apply, never shows or seals anything, never reads a kubeconfig, the environment or the network beyond the
// cluster that it is given. The handlers in the package chart call it; `runnerd diff helm` renders with it, without a cluster too.
package helm

// Labels on the record of a release, the ConfigMap or Secret that Helm keeps. A person's rollback or upgrade copies labels from an older
// record to its own: only a record whose LabelRevision is its own revision was written by us.
const (
	// LabelInstall is the id of the install.
	LabelInstall = "nuon.dev/install"
	// LabelComponent is the id of the install's component.
	LabelComponent = "nuon.dev/install-component"
	// LabelAttempt is "<job>.<attempt>", which wrote the record last.
	LabelAttempt = "nuon.dev/attempt"
	// LabelRevision is the revision of the record that we wrote.
	LabelRevision = "nuon.dev/revision"
	// LabelUninstall is the attempt that began to uninstall the release.
	LabelUninstall = "nuon.dev/uninstall"
)

// maxHistory is how many records of a release are kept, the newest and the deployed one among them; Helm's own default.
const maxHistory = 10

// Log takes what people will read about the work. A *job.Log is one.
type Log interface {
	Debug(format string, args ...any)
	Info(format string, args ...any)
	Warn(format string, args ...any)
}
