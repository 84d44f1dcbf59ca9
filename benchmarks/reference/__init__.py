"""Recorded answers: does a change of the code change what it answers, and what that costs?"""
