package format

// KubernetesContexts is kubernetes_contexts.toml, or a file below kubernetes_contexts/: clusters besides the sandbox's.
type KubernetesContexts struct {
	// The clusters.
	Contexts []KubernetesContext `toml:"kubernetes_context" json:"kubernetes_context,omitempty" config:"sorted=name"`
}

// KubernetesContext is a cluster that a component makes; alone in a file below kubernetes_contexts/.
type KubernetesContext struct {
	// Name, by which components and actions choose it.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"edge"`
	// The terraform_module or pulumi component whose output cluster it is. Who uses the context depends on it.
	Component string `toml:"component" json:"component,omitempty" config:"required" example:"edge_cluster"`
}
