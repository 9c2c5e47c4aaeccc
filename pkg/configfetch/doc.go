// Package configfetch fetches the files that an app config refers to outside of its directory:
// references that start with http://, https://, git:: or file:// (docs of the format: "file
// references").
//
// A Fetcher reads one reference. Fetcher.Load returns the function through which one load of a
// config reads all of its references, with limits for all of them together. The reconciler's
// catalog and `nuon validate` call this package; the parser of the format (pkg/appconfig) only
// receives the function.
//
// All input is hostile: the reference, the name server, the server and its responses. A request
// contains only the reference itself, with no credential, cookie or referrer, and the proxy
// settings of the environment are ignored. Only public addresses are dialed, unless the program is
// configured otherwise. Time, bytes, redirects, and the decompressed size of a response are
// bounded. Memory is bounded by the limit of one file and, for git repositories, by what
// pkg/gitpack allows for all packs of the process. The package stores nothing and runs no other
// program.
package configfetch
