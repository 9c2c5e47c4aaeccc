// Package release creates the releases of apps. A release is a set of digests: a config and one
// build input for each deployed component. Installs follow the newest complete release of their
// app or are pinned to one.
//
// It reads app versions, component inputs and builds, and adds releases. A release never changes,
// except that it becomes complete when the last of its builds succeeds, or incomplete when a
// component cannot be built. Package build calls Create after it has determined the inputs of all
// components, and BuildEnded when a build has ended; the control API calls CreatePartial.
//
// It never builds, deploys or pins anything.
package release
