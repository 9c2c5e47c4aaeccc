package format

// Metadata is metadata.toml: the name and the description of the app. Every app has one.
type Metadata struct {
	// Version of the format. Both mean the same; v2 is current.
	Version string `toml:"version" json:"version,omitempty" config:"required,one=v2|v1"`
	// Name that people see.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"idle" example:"Ledger"`
	// What the app is, in one sentence.
	Description string `toml:"description" json:"description,omitempty" config:"idle" example:"Double-entry bookkeeping in your own account"`
	// Markdown, rendered for each install.
	Readme string `toml:"readme" json:"readme,omitempty" config:"template,file,idle" example:"./README.md"`
	// URL that receives notifications about the app.
	SlackWebhookURL string `toml:"slack_webhook_url" json:"slack_webhook_url,omitempty" config:"url,idle" example:"https://hooks.example.com/ledger"`
	// Colors of labels, as #rrggbb.
	LabelColors map[string]string `toml:"label_colors" json:"label_colors,omitempty" config:"idle" example:"ring=#2e7d32"`
	// Labels of every new install.
	DefaultLabels map[string]string `toml:"default_labels" json:"default_labels,omitempty" config:"idle" example:"ring=0"`
	// Whether an image that no container_image component mirrors is an error in a manifest, not a warning, and
	// denies the plans of charts and manifests.
	RequireMirroredImages bool `toml:"require_mirrored_images" json:"require_mirrored_images,omitempty"`
	// Data for the catalog of example apps.
	Onboarding *Onboarding `toml:"onboarding" json:"onboarding,omitempty" config:"idle"`
}

// Onboarding is the entry of the app in a catalog of example apps.
type Onboarding struct {
	// Whether the app is in the catalog.
	Enabled bool `toml:"enabled" json:"enabled,omitempty"`
	// Category in the catalog.
	Category string `toml:"category" json:"category,omitempty" example:"self-hosted"`
	// The cloud that the app is for.
	CloudProvider string `toml:"cloud_provider" json:"cloud_provider,omitempty" config:"one=aws|azure|gcp"`
	// How difficult the app is to understand.
	Difficulty string `toml:"difficulty" json:"difficulty,omitempty" example:"simple"`
}
