// Package stackfiles renders the stack of an install as the files of its cloud, and names them by digest.
package stackfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/azure"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/cloudformation"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/gcp"
)

// File is one file of a stack.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Rendering is the stack of an install as files.
type Rendering struct {
	Cloud, Name, Region string
	Files               []File // none if a finding is an error
	Digest              string // of the files
	Nested              []installstack.Nested
	Findings            diagnostic.Diagnostics
}

// Render renders the stack of an app for an install. The same app and facts always give the same files.
func Render(app *appconfig.App, facts installstack.Facts) Rendering {
	read := installstack.Read(app, facts)
	r := Rendering{Cloud: app.Cloud(), Findings: read.Findings}
	if read.Stack == nil {
		return r
	}
	r.Name, r.Region, r.Nested = read.Stack.Name, read.Stack.Region, read.Stack.Nested
	var found diagnostic.Diagnostics
	switch r.Cloud {
	case "aws":
		r.Files, found = templated(read.Stack, cloudformation.FileName, cloudformation.Render, cloudformation.RenderModule)
	case "gcp":
		var files []gcp.File
		files, found = gcp.Render(read.Stack)
		for _, f := range files {
			r.Files = append(r.Files, File(f))
		}
	case "azure":
		r.Files, found = templated(read.Stack, azure.FileName, azure.Render, azure.RenderModule)
	}
	r.Findings = append(r.Findings, found...)
	r.Findings.Sort()
	if len(r.Files) > 0 {
		r.Digest = digest(r.Files)
	}
	return r
}

// templated renders a template with its name, and a Terraform module beside it if the app asks for one.
func templated(stack *installstack.Stack, name string,
	render func(*installstack.Stack) ([]byte, diagnostic.Diagnostics),
	renderModule func(*installstack.Stack) (raw, module []byte, findings diagnostic.Diagnostics),
) ([]File, diagnostic.Diagnostics) {
	if !stack.Terraform {
		template, found := render(stack)
		if template == nil {
			return nil, found
		}
		return []File{{name, string(template)}}, found
	}
	template, module, found := renderModule(stack)
	if template == nil {
		return nil, found
	}
	return []File{{installstack.ModuleName, string(module)}, {name, string(template)}}, found
}

func digest(files []File) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %d\n%s", f.Name, len(f.Content), f.Content)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
