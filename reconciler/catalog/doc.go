// Package catalog keeps what an app is: its versions, named by the digest of their config, and the components that are part of
// it.
//
// It reads the newest revision of an app's watch (or an uploaded archive) through pkg/appconfig and adds app versions, component
// rows and the watches of repositories that components name. Then it has build look at the app. A config with errors changes
// nothing but the app's diagnostics: the version before stays.
//
// It never reads a component's code, never builds, never touches an install, and never executes what it reads. The main program
// calls Reconcile when a revision came; the API calls SyncNow and Upload.
package catalog
