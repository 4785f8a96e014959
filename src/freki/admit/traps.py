"""Placeholder until the traps arrive."""


class Traps:
    def judge(self, url: str) -> str | None:
        return None

    def wants(self, url: str) -> bool:
        return False

    def learn(self, url: str, text: str, body: bytes) -> None:
        return None
