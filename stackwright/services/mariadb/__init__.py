"""MariaDB holds the services' data; several nodes replicate it with Galera."""
