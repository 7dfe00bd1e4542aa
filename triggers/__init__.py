"""Trigger files, `{sqlite,postgresql}/<table>_<rule>_v1.sql`: revisions execute them by name.

None is released yet. They will stand in both folders under the same names, and never be edited.
"""
