"""What alembic runs for each step; `leastways.server.database` hands the connection in."""

from alembic import context

from leastways.server.database import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
