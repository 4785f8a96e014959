"""The web app: the service for people. Pages are made here, by templates that escape everything."""
