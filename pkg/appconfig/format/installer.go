package format

// Installer is installer.toml: texts of a page on which customers install an app by themselves.
type Installer struct {
	// Title.
	Name string `toml:"name" json:"name,omitempty" example:"Ledger"`
	// What is installed.
	Description string `toml:"description" json:"description,omitempty" example:"Install Ledger in your cloud"`
	// Part of the page's address.
	Slug string `toml:"slug" json:"slug,omitempty" example:"ledger"`
	// Apps that are offered.
	Apps []string `toml:"apps" json:"apps,omitempty" config:"set" example:"ledger"`
	// Address of the documentation.
	DocumentationURL string `toml:"documentation_url" json:"documentation_url,omitempty" example:"https://docs.example.com"`
	// Address of the community.
	CommunityURL string `toml:"community_url" json:"community_url,omitempty" example:"https://community.example.com"`
	// Address of the vendor.
	HomepageURL string `toml:"homepage_url" json:"homepage_url,omitempty" example:"https://example.com"`
	// Address of the code.
	GithubURL string `toml:"github_url" json:"github_url,omitempty" example:"https://git.example.com/acme/ledger"`
	// Address of the logo.
	LogoURL string `toml:"logo_url" json:"logo_url,omitempty" example:"https://example.com/logo.svg"`
	// Address of the page's icon.
	FaviconURL string `toml:"favicon_url" json:"favicon_url,omitempty" example:"https://example.com/favicon.ico"`
	// Address of the picture that links to the page show.
	OGImageURL string `toml:"og_image_url" json:"og_image_url,omitempty" example:"https://example.com/card.png"`
	// Address of a demonstration.
	DemoURL string `toml:"demo_url" json:"demo_url,omitempty" example:"https://example.com/demo"`
	// Shown after an install was made.
	PostInstallMarkdown string `toml:"post_install_markdown" json:"post_install_markdown,omitempty" example:"Open https://ledger.example.com."`
	// Shown as copyright.
	CopyrightMarkdown string `toml:"copyright_markdown" json:"copyright_markdown,omitempty" example:"Acme, Inc."`
	// Shown at the foot.
	FooterMarkdown string `toml:"footer_markdown" json:"footer_markdown,omitempty" example:"Questions? Write to help@example.com."`
	// A second TOML file whose keys are laid over this one's.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`
}

// Triggers is triggers.toml: events from elsewhere that start runs of branches. What is in it is not looked into.
type Triggers map[string]any
