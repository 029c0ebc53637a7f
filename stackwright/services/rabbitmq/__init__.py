"""RabbitMQ carries the messages between the parts of a service."""
