// Package netguard opens connections to servers that a stranger names, within rules.
//
// Transport dials only the kinds of addresses that its options allow. It checks the address that is dialled, so that a name whose answer
// changes between two look-ups does not get around the rule, and checks it again after each redirect. It never uses a proxy of the
// environment: behind one, only the proxy's address could be checked. Handshakes, headers and the pauses of a body have deadlines, headers
// have a size, and nothing is decompressed.
//
// Errors name the host as it was written, and the kind of network that it leads to, but no address that a name resolved to and no name
// server: who may write a URL is not to learn the layout of the network that it is read from.
//
// A Budget bounds the bytes of answers; the caller decides how many. reconciler/observe, pkg/remote, pkg/gitpack and runnerd/helm/source
// use the package.
package netguard
