variable "install" {
  type = string
}

module "work" {
  source = "../work"

  install   = var.install
  component = "sandbox"
  step      = "base"
  lines     = 3
}

output "step" {
  value = module.work.step
}
