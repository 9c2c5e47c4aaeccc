// Package secretsync reports the versions of an install's secrets, and copies those into the cluster that the app
// declares so.
//
// It owns the job kind secrets. It finds changes by ids of versions; it reads a value only to copy a version that the
// cluster does not have. It writes only Secrets that it made for the same install, and deletes copies that the app no
// longer declares. No value is in its result or its log.
package secretsync
