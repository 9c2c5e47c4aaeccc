variable "install" {
  type = string
}

variable "step" {
  type = string
}

variable "lines" {
  type = number
}

module "work" {
  source = "../work"

  install   = var.install
  component = "second"
  step      = var.step
  lines     = var.lines
}

output "step" {
  value = module.work.step
}
