package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// renderRequest is a request of `nuon images`, as JSON on the standard input. The same type is in
// cli/images.
type renderRequest struct {
	helmSide
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
}

// renderResponse is what a chart renders, and its own values.
type renderResponse struct {
	Objects  []string `json:"objects"` // YAML documents
	Defaults string   `json:"defaults"`
}

func newRender() *cobra.Command {
	command := &cobra.Command{Use: "render", Short: "Render for nuon images", Hidden: true, Args: cobra.NoArgs}
	command.AddCommand(&cobra.Command{
		Use: "helm", Short: "Render a chart, by a request on the standard input (started by nuon images)",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := limitMemory(); err != nil {
				return err
			}
			var request renderRequest
			if err := json.NewDecoder(io.LimitReader(command.InOrStdin(), maxRequest)).Decode(&request); err != nil {
				return fmt.Errorf("read the request: %w; run nuon images", err)
			}
			d := newHelmDiff(helmRequest{Release: request.Release, Namespace: request.Namespace})
			d.anyValues = true
			made, err := d.load(command.Context(), request.helmSide)
			if err != nil {
				return err
			}
			rendered, err := d.offline(command.Context(), made)
			if err != nil {
				return err
			}
			response := renderResponse{Objects: []string{}, Defaults: made.defaults}
			for _, object := range objectsOf("", rendered) {
				response.Objects = append(response.Objects, string(object.Data))
			}
			for _, crd := range rendered.CRDs { // objects of other kinds are in crds/, too
				if crd.Kind != "CustomResourceDefinition" {
					response.Objects = append(response.Objects, crd.Manifest)
				}
			}
			return json.NewEncoder(command.OutOrStdout()).Encode(response)
		},
	})
	return command
}
