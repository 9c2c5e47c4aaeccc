// Package syntax reads TOML into a tree in which every key and every value knows where it is written.
//
// It owns what is valid TOML, and the places; it does not know which keys the app config format has. Package appconfig reads files
// with it, and package format decodes the tree into its types.
package syntax
