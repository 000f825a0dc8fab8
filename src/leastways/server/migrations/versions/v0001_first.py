"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "origins",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("schema_fingerprint", sa.String(64), nullable=False),
        sa.Column("model_fingerprint", sa.String(64), nullable=False),
        sa.Column("data_fingerprint", sa.String(64), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("libraries", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_origins"),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("reference", sa.String(200), nullable=True),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("token_hash", name="uq_people_token_hash"),
    )
    op.create_index("ix_people_created", "people", ["created"])
    op.create_index("ix_people_reference", "people", ["reference"])
    op.create_table(
        "answers",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("person_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("origin_id", sa.String(64), nullable=False),
        sa.Column("preferences", sa.Text(), nullable=True),
        sa.Column("entries", sa.Text(), nullable=True),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_answers_person_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["origin_id"], ["origins.id"], name="fk_answers_origin_id"),
    )
    op.create_index("ix_answers_created", "answers", ["created"])
    op.create_index("ix_answers_person_number", "answers", ["person_id", "number"], unique=True)
    op.create_table(
        "choices",
        sa.Column("answer_id", sa.String(32), nullable=False),
        sa.Column("option", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("answer_id", name="pk_choices"),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name="fk_choices_answer_id", ondelete="CASCADE"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(32), nullable=True),
        sa.Column("lease_until", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_created", "jobs", ["created"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_table(
        "pending",
        sa.Column("person_id", sa.String(32), nullable=False),
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("preferences", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("person_id", name="pk_pending"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_pending_person_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_pending_job_id", ondelete="CASCADE"),
    )
    op.create_index("ix_pending_job_position", "pending", ["job_id", "position"])
    op.create_table(
        "keys",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("revoked", sa.DateTime(), nullable=True),
        sa.Column("salt", sa.String(32), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(60), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
    )
    op.create_table(
        "erasures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("why", sa.String(20), nullable=False),
        sa.Column("people", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_erasures"),
    )


def downgrade() -> None:
    """Drop all tables, those that refer to others first."""
    for table in ("erasures", "keys", "pending", "jobs", "choices", "answers", "people", "origins"):
        op.drop_table(table)
