"""The course in one command: a machine's report, measured, audited, modelled and written.

plan = plan_course("/mnt/drive", budget_s=600)      # says how long it will take, and changes nothing
results = run_course(plan, Path("course"))          # run again to go on after an interruption
sections = course_sections(plan, results)           # for calibrate.report.page.write_sections
"""

from __future__ import annotations

from calibrate.course.planning import CoursePlan, MemoryStep, plan_course, run_course
from calibrate.course.sections import course_sections, front_of

__all__ = ["CoursePlan", "MemoryStep", "course_sections", "front_of", "plan_course", "run_course"]
