// Package helmsdk is the only package that uses the Helm SDK. It loads and renders charts, and
// reads, dry-runs, installs, upgrades, heals and uninstalls releases, with its own types,
// so that another version of Helm can replace this one without changes to its callers.
//
// It owns the guarantee that what is applied is, byte for byte, what was rendered for
// the plan: Apply passes the SDK a chart whose templates are the planned bytes, and
// compares the result before anything is created. It owns what happens to a release
// that an attempt left unfinished (Decide), and the labels on release records that
// distinguish attempts from the work of other clients.
//
// It never decides whether to plan or to apply, never shows or seals anything, and
// never reads a kubeconfig, the environment or any network beyond the cluster that it
// is passed. Its callers are the handlers in package chart, and `runnerd diff helm`,
// which renders with it, also without a cluster.
package helmsdk

// Labels on the record of a release, Helm's ConfigMap or Secret. A person's rollback
// or upgrade copies labels from an older record to its own: only a record whose
// LabelRevision is its own revision was written by this package.
const (
	// LabelInstall is the id of the install.
	LabelInstall = "nuon.dev/install"
	// LabelComponent is the id of the install's component.
	LabelComponent = "nuon.dev/install-component"
	// LabelAttempt is the "<job>.<attempt>" that last wrote the record.
	LabelAttempt = "nuon.dev/attempt"
	// LabelRevision is the revision of the record that this package wrote.
	LabelRevision = "nuon.dev/revision"
	// LabelUninstall is the attempt that started to uninstall the release.
	LabelUninstall = "nuon.dev/uninstall"
)

// maxHistory bounds the stored records of a release, including the newest and the
// deployed one; Helm's default.
const maxHistory = 10

// Log receives messages for people about the work. A *job.Log is one.
type Log interface {
	Debug(format string, args ...any)
	Info(format string, args ...any)
	Warn(format string, args ...any)
}
