// Package garbage deletes from the vendor's registry what no release, install or running build of an org needs:
// artifacts of builds that are in no release, packed sources of code that is not current, and everything of
// deleted apps.
//
// It owns the table registry_garbage, in which it records content when the last reference to it goes, and it
// deletes builds whose artifact nothing needs. It holds the lock of the content's app while it deletes, so that
// no build of the app is created at the same time, and deletes nothing of a component with a running build:
// that may find the content in the registry and rely on it. Sources are found there by package build before it
// creates a build; it checks the record of their deletion then.
//
// It never deletes what no row of this org's builds named, and nothing from the registries of installs. The API
// calls it.
package garbage
