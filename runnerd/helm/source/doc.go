// Package source gets Helm charts with all their dependencies: from a directory of a packed source tree, from a chart repository
// (https:// with an index, or oci://), and from an archive.
//
// It owns which files a chart has (.helmignore, links), which version of a chart is taken, and that what comes is what was locked: the
// same input gives the same files on any machine. A dependency is a directory below charts/, or the archive as it came.
//
// Everything is hostile: the tree, the index, the registry and the archives in archives. Time, bytes, redirects, depth and what an
// archive grows to are bounded; nothing is written to a disk, no credential is sent, no proxy of the environment is asked, and only public
// addresses are dialled unless the program was told otherwise. It never renders a template; package helm does.
//
// The build handler of package chart calls it, and `runnerd diff helm`.
package source
