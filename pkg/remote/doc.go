// Package remote reads the files that an app config fetches from elsewhere: references that begin with http://, https://, git:: or
// file:// (docs of the format: "file references").
//
// A Fetcher reads one reference; Fetcher.Load gives the function that one load of a config reads all of its references through, with
// bounds for all of them together. The reconciler's catalog and `nuon validate` call it; the reader of the format (pkg/appconfig)
// only knows the function.
//
// Everything is hostile: the reference, the name server, the server and what it sends. Nothing is sent but the reference itself: no
// credential, no cookie, no referrer, and no proxy of the environment is asked. Only public addresses are dialled, unless the program
// was told otherwise. Time, bytes, redirects, and what a compressed or packed answer grows to are bounded; memory holds no more than
// the bound of one file, and of git repositories what pkg/gitpack allows for all packs of the process. It keeps nothing, and runs no other program.
package remote
