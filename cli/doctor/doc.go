// Package doctor implements `nuon doctor`: it reports what nuon can use on this machine,
// what is missing, and how to get it.
//
// It only reads: it runs nothing but version commands, writes nothing, and sends
// one request to the current control plane and one to each port of nuon dev that is
// in use. Missing is what `nuon dev` cannot run without; the rest is information.
package doctor
