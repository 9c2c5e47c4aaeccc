// Package appconfig owns what an app config means: it reads a directory of TOML files into a typed [App], tells everything that is wrong
// with it at once, and gives it the one encoding that is hashed.
//
// Which keys there are, and what each says, stands in package format and nowhere else. This package knows which files count, how they
// refer to each other, what they must agree about, and what an App keeps of them.
//
// It never reaches outside of the directory, but for the code of the app's own repository in [Options].Tree, leaves the network to [Options].Fetch, runs nothing and renders no template. The CLI calls it
// for `nuon validate`, `nuon sync`, `nuon graph` and `nuon diff app`, the reconciler when a commit changed a config directory.
//
// # The directory
//
// An app is one directory. Only the files and directories that format's kinds name count; everything else is payload that files refer to,
// or that git holds for builds. Any other TOML file at the root is told: an error if it seems to be meant as one, else a warning. Directories are read recursively, and names of files mean
// nothing: the key name does. Keeping both a file and a directory form of one section is an error, unless one of them says nothing.
// Files without any bytes are left out.
//
// A nuon.APP.toml is a whole app in the older form, in a directory without metadata.toml: each table in it is read like the section's own
// file, and {{.KEY}} in any string stands for what [config_vars] says.
//
// # Files that files name
//
// The value of a key that may be a file is one if it is one line that begins with ./ ../ http:// https:// git:: or file://. A local one is
// looked for beside the file that names it, then where the format has always looked: below components/, actions/, installs/ or permissions/
// for what is said there (and permissions/ for break-glass roles), at the root for all else. It must lie in the config directory, and no
// part of its path may be a symbolic link. dockerfile is a path in the source's directory unless there is such a file beside the config.
// Files from elsewhere are read once each by Options.Fetch; without it they are not, and [App.Unread] counts them.
//
// source names a second TOML file, by the same rules, whose keys win over those of the file that names it, table by table; in inputs.toml its
// groups and inputs are added. A file that is included is no file of its own. Positions stay those of the file in which a key is written.
//
// # What an App is
//
// Aliases are resolved, defaults filled in, texts of files taken in, and sets sorted, so that equal configs are equal values. [App.Digest]
// names the app version: it does not change with comments, the order or spelling of keys, the form of a section, or the names of files.
// [Component.ConfigDigest] is the part of one component that a deploy uses.
//
// Components of all kinds are in it. [App.Order] puts them into groups by [App.Edges]: dependencies that are listed, outputs that templates
// read (.nuon.components.NAME.outputs, by name or var_name), and the component whose cluster a kubernetes_context is. What nuon deploys so
// far is [App.Deployed].
package appconfig
