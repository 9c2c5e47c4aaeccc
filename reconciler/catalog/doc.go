// Package catalog stores the definitions of apps: their versions, identified by the digest of their
// config, and their components.
//
// It reads the newest revision of an app's watch, or an uploaded archive, through pkg/appconfig,
// and writes app versions, component rows and the watches of repositories that components name.
// Then it enqueues the app's builds. A config with errors changes only the app's diagnostics: the
// version before stays.
//
// It never reads a component's code, never builds, never touches an install, and never executes
// what it reads. The main program calls Reconcile when a revision arrives; the API calls SyncNow
// and Upload.
package catalog
