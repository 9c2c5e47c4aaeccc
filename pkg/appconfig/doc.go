// Package appconfig reads a directory of TOML files into a typed [App], reports all errors in it at
// once, and defines the encoding of an App that is hashed.
//
// Package format alone defines which keys exist and what they mean. This package defines which
// files count, how they refer to each other, how they must be consistent, and what an App
// contains of them.
//
// It reads nothing outside of the directory except the code of the app's own repository in
// [Options].Tree. It leaves the network to [Options].Fetch, runs no programs and renders no
// templates. The CLI calls it for `nuon validate`, `nuon sync`, `nuon graph` and `nuon diff app`;
// the reconciler calls it when a commit changed a config directory.
//
// # The directory
//
// An app is one directory. Only the files and directories that format's kinds name count;
// everything else is payload that files refer to, or that builds read from git. Any other TOML
// file at the root is an error if it looks like a misnamed file of the format, else a warning.
// Directories are read recursively. File names have no meaning: the name key names a component or
// action. Having both the file and the directory form of one section is an error, unless one of
// them is empty. Files of zero bytes are ignored.
//
// A nuon.APP.toml is a whole app in the older form, in a directory without metadata.toml. Each
// table in it is read like the section's own file, and {{.KEY}} in any string is replaced by the
// value in [config_vars].
//
// # References to files
//
// The value of a key that may refer to a file does so if it is one line that starts with ./ ../
// http:// https:// git:: or file://. A local file is searched for beside the file that refers to
// it, then in the format's traditional place: below components/, actions/, installs/ or
// permissions/ for references in those sections (permissions/ also for break-glass roles), at the
// root for all others. It must be in the config directory. Symbolic links are followed as long as they
// stay in the repository. dockerfile is a path in the source's directory unless there is such a file
// beside the config. Options.Fetch reads each remote file once; without Fetch they are not read,
// and [App.NotFetched] counts them.
//
// source names a second TOML file, by the same rules. Its keys win over those of the file that
// names it, table by table; in inputs.toml its groups and inputs are added. An included file is
// not read as a separate declaration. Positions remain those in the file that contains the key.
//
// # Contents of an App
//
// In an App, aliases are resolved, defaults filled in, texts of files included, and sets sorted,
// so that equal configs are equal values. [App.Digest] identifies the app version: comments, the
// order or spelling of keys, the form of a section and file names do not change it.
// [Component.ConfigDigest] covers the part of one component that a deploy uses.
//
// An App contains components of all kinds. [App.Order] groups them by [App.Edges]: listed
// dependencies, outputs that templates read (.nuon.components.NAME.outputs, by name or var_name),
// and the component that provides the cluster of a kubernetes_context. [App.Deployed] returns the
// part that nuon can deploy so far.
package appconfig
