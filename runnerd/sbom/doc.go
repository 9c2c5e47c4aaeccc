// Package sbom lists the software in an image: a software bill of materials in the form SPDX 2.3.
//
// It reads the layers of the image and runs nothing of it. It recognizes the packages of Debian (dpkg) and Alpine
// (apk), programs written in Go with their modules, Python distributions and Node modules. What it recognizes but
// cannot read, such as an RPM database, is named in the list, so that nobody takes it for complete.
//
// What is in the layers is not trusted: sizes and numbers are bounded, and what is damaged is named as not read.
package sbom
