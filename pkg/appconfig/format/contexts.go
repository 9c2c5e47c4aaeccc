package format

// KubernetesContexts is kubernetes_contexts.toml, or a file below kubernetes_contexts/: clusters in
// addition to that of the sandbox.
type KubernetesContexts struct {
	// The clusters.
	Contexts []KubernetesContext `toml:"kubernetes_context" json:"kubernetes_context,omitempty" config:"sorted=name"`
}

// KubernetesContext is a cluster that a component creates; a file below kubernetes_contexts/ can
// contain a single one.
type KubernetesContext struct {
	// Name, by which components and actions select it.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"edge"`
	// The terraform_module or pulumi component whose output cluster describes it. Components and
	// actions that use the context depend on this component.
	Component string `toml:"component" json:"component,omitempty" config:"required" example:"edge_cluster"`
}
