variable "interval_seconds" {
  type = number
}

variable "labels" {
  type = map(string)
}

resource "terraform_data" "scrape" {
  input = {
    interval_seconds = var.interval_seconds
    labels           = var.labels
  }
}

output "interval_seconds" {
  value = terraform_data.scrape.output.interval_seconds
}
