// Package syntax parses TOML into a tree in which every key and every value has its position.
//
// It defines what is valid TOML, and positions in it; it does not depend on the keys of the app
// config format. Package appconfig parses files with it, and package format decodes the tree into
// its types.
package syntax
